package inside

import (
	"go/build"
	"os/exec"
	"slices"
	"strings"
	"syscall"
	"testing"
	"unsafe"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sys/unix"
)

// A package that os does not need either would be waited for, and with it much of the program.
func TestImportsNothingButOS(t *testing.T) {
	root, err := exec.Command("go", "env", "GOROOT").Output() // a test built with -trimpath does not know
	if err != nil {
		t.Fatal(err)
	}
	for _, arch := range []string{"386", "amd64", "arm", "arm64", "loong64", "ppc64le", "riscv64", "s390x"} {
		ctx := build.Default
		ctx.GOROOT, ctx.GOARCH, ctx.CgoEnabled = strings.TrimSpace(string(root)), arch, false
		allowed := map[string]bool{}
		collect(t, &ctx, "os", allowed)
		ours, err := ctx.ImportDir(".", 0)
		if err != nil {
			t.Fatal(err)
		}
		extra := slices.DeleteFunc(ours.Imports, func(path string) bool { return allowed[path] })
		if len(extra) > 0 {
			t.Errorf("%s: imports %q, which os does not; the package comment says why that is slow", arch, extra)
		}
	}
}

// collect adds a package of the standard library and all that it is made of.
func collect(t *testing.T, ctx *build.Context, path string, seen map[string]bool) {
	t.Helper()
	if seen[path] {
		return
	}
	seen[path] = true
	if path == "unsafe" {
		return
	}
	p, err := ctx.Import(path, "", 0)
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range p.Imports {
		collect(t, ctx, path, seen)
	}
}

func TestConstantsOfTheSystem(t *testing.T) {
	type values struct{ path, drop, ambient, clearAll, format, size int }
	got := values{
		openPathOnly,
		prCapBSetDrop,
		prCapAmbient,
		prCapAmbientClearAll,
		linuxCapabilityFormat,
		int(unsafe.Sizeof(interfaceRequest{})),
	}
	want := values{
		unix.O_PATH,
		unix.PR_CAPBSET_DROP,
		unix.PR_CAP_AMBIENT,
		unix.PR_CAP_AMBIENT_CLEAR_ALL,
		unix.LINUX_CAPABILITY_VERSION_3,
		int(unsafe.Sizeof(unix.Ifreq{})),
	}
	if got != want {
		t.Errorf("got %+v, want %+v", got, want)
	}
}

func TestOrdersArrive(t *testing.T) {
	for name, want := range map[string]Orders{
		"nothing": {},
		"everything": {
			Mounts: []Mount{{Overlay, "/a b", "", "/lower\n", "/upper\xff", "/work"},
				{Bind, "edit", "mount", "", "", ""}}, Root: "/root",
			Edits: []Edit{{"gone", ""}, {"put",
				"/source"}}, Dir: "dir", NoNetwork: true, MakeOnly: true, OwnUsers: true, Rights: 1<<63 | 1<<21 | 1,
		},
	} {
		text := want.Encode()
		got, err := decodeOrders(text)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if diff := cmp.Diff(&want, got); diff != "" {
			t.Errorf("%s (-sent +received):\n%s", name, diff)
		}
	}
	for _, text := range []string{"", "dir\x00", "dir", "mount\x00bind\x00/a\x00", "surprise\x00"} {
		if o, err := decodeOrders([]byte(text)); err == nil {
			t.Errorf("%q was understood as %+v", text, o)
		}
	}
}

func TestReportsArrive(t *testing.T) {
	for _, want := range []Report{
		{Failed: MakeEnclosure, Text: "read orders: not understood"},
		{Failed: FindProgram, Text: "prog", Exists: true},
		{Failed: StartProgram, Text: "./prog", Dir: "/a\nb", Errno: syscall.ENOTSUP, NoDir: true},
	} {
		got, err := DecodeReport(want.encode())
		if err != nil || got != want {
			t.Errorf("got %+v and %v, want %+v", got, err, want)
		}
	}
	for _, text := range []string{"", "start\x00prog\x00", "panic: something"} {
		if r, err := DecodeReport([]byte(text)); err == nil {
			t.Errorf("%q was understood as %+v", text, r)
		}
	}
}

func TestParseMounts(t *testing.T) {
	const info = `22 28 0:21 / /proc rw - proc proc rw
28 1 8:1 / / rw - ext4 /dev/sda rw
30 28 0:30 / /w/s/a\040b rw shared:1 - tmpfs tmpfs rw
31 30 0:31 / /w/s/a\040b/deeper rw - tmpfs tmpfs rw
32 28 0:32 / /w/s2 rw - tmpfs tmpfs rw
33 28 0:33 / /w/s rw - tmpfs tmpfs rw
34 28 0:34 / /w/s/back\134slash rw - tmpfs tmpfs rw
short line
`
	for folder, want := range map[string][]string{
		"/w/s":  {"/w/s/a b", `/w/s/back\slash`},
		"/w/s2": nil,
		"/":     {"/proc", "/w/s/a b", "/w/s2", "/w/s"},
	} {
		if diff := cmp.Diff(want, parseMounts(info, folder)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", folder, diff)
		}
	}
}
