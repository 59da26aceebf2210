package inside

const (
	sysSeccomp  = 317
	sysSendmmsg = 307
	machine     = 0xc000003e // of the filter: x86-64
)

// otherConnects are the calls of 32-bit programs that connect, or can while they send: connect, socketcall,
// sendto, sendmsg, sendmmsg.
var otherConnects = []uint32{362, 102, 369, 370, 345}
