package stream

import (
	"strings"
	"testing"

	"github.com/ralphloop/ralph/promise"
)

func TestTheLastMessageIsTheAnswer(t *testing.T) {
	say := func(messages ...string) string {
		s := Speech{Scanner: promise.NewScanner(promise.Options{}), answer: &lastMessage{}}
		for _, m := range messages {
			_, _ = s.Write([]byte(m))
			s.EndMessage()
		}
		return s.lastWords()
	}
	long := strings.Repeat("0123456789", maxAnswer/4)
	cases := []struct {
		name      string
		got, want string
	}{
		{"nothing", say(), ""},
		{"one", say("one"), "one"},
		{"the last", say("one", "two"), "two"},
		{"blanks are none", say("one", " \n"), "one"},
		{"a claim alone is none", say("one", "<promise>DONE</promise>\n"), "one"},
		{"the end of a long one", say("one", long+"end"), (long + "end")[len(long)+3-maxAnswer:]},
		{"a long one before", say(long, "two"), "two"},
		{"broken text", say("a\xffb"), "ab"},
	}
	for _, c := range cases {
		if c.got != c.want {
			t.Errorf("%s: got %d bytes %.40q, want %d bytes", c.name, len(c.got), c.got, len(c.want))
		}
	}
	s := Speech{Scanner: promise.NewScanner(promise.Options{}), answer: &lastMessage{}}
	for range 10 {
		_, _ = s.WriteString(long)
	}
	if got, room := s.lastWords(), cap(s.answer.whole); got != long[len(long)-maxAnswer:] || room > 16*maxAnswer {
		t.Errorf("%d bytes in a room of %d", len(got), room)
	}
}
