package canary

import (
	"fmt"
	"path"
	"strings"

	"github.com/ralphloop/ralph/internal/text"
)

var rubyRequire = text.LazyRegexp(`(?m)^\s*(?:require|require_relative)\s*\(?['"][^'"]+['"]\)?\s*$`)

// plantRuby puts a file beside the tests of every folder, for RSpec or Minitest, with the files
// that those tests load.
func (g *planner) plantRuby() {
	for _, p := range g.testFolders(func(name string) bool {
		base := path.Base(name)
		return strings.HasSuffix(base, "_spec.rb") || strings.HasSuffix(base, "_test.rb") ||
			strings.HasPrefix(base, "test_") && strings.HasSuffix(base, ".rb")
	}) {
		model := p.last()
		text := g.read(model)
		spec := strings.HasSuffix(model, "_spec.rb")
		if !spec && !strings.Contains(text, "Minitest::Test") {
			continue
		}
		file, first, second := g.sibling(model, "_")
		var head strings.Builder
		for _, line := range rubyRequire().FindAllString(text, 20) {
			fmt.Fprintf(&head, "begin\n  %s\nrescue LoadError, StandardError\n  nil\nend\n", strings.TrimSpace(line))
		}
		form, test := minitestText, []string{capital(first) + capital(second) + "Test", "test_raise", "test_compare"}
		if spec {
			form, test = rspecText, []string{first + " " + second, "raises", "compares"}
		}
		one, oneLeft, oneRight := g.mark("ruby "+p.dir+" raise", test[0], test[1])
		two, twoLeft, twoRight := g.mark("ruby "+p.dir+" compare", test[0], test[2])
		g.plant(file, head.String()+fmt.Sprintf(form, test[0], oneLeft, oneRight, twoLeft, twoRight), one, two)
	}
}

const rspecText = `
RSpec.describe '%s' do
  it 'raises' do
    raise ['%s', '%s'].join
  end

  it 'compares' do
    expect(['%s', '%s'].join).to eq('')
  end
end
`

const minitestText = `
class %s < Minitest::Test
  def test_raise
    raise ['%s', '%s'].join
  end

  def test_compare
    assert_equal '', ['%s', '%s'].join
  end
end
`
