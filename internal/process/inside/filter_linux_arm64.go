package inside

const (
	sysSeccomp  = 277
	sysSendmmsg = 269
	machine     = 0xc00000b7
)

// otherConnects are the calls of 32-bit programs that connect, or can while they send: connect, sendto, sendmsg,
// sendmmsg.
var otherConnects = []uint32{283, 290, 296, 374}
