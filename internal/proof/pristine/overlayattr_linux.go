package pristine

import "syscall"

// overlayAttr returns an attribute that the kernel set on a file of an overlay, as root or as
// another user; nil if there is none.
func overlayAttr(file, name string) []byte {
	var value [4096]byte
	for _, kind := range []string{"trusted", "user"} {
		if n, err := syscall.Getxattr(file, kind+".overlay."+name, value[:]); err == nil {
			return append([]byte{}, value[:n]...)
		}
	}
	return nil
}
