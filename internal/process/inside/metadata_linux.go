package inside

// metadataServers are the addresses at which clouds give machines their credentials.
var metadataServers = [][]byte{
	{169, 254, 169, 254}, // most clouds
	{169, 254, 170, 2},   // tasks of Amazon ECS
	{169, 254, 170, 23},  // pods of Amazon EKS
	{100, 100, 100, 200}, // Alibaba Cloud
	{192, 0, 0, 192},     // Oracle Cloud
	{168, 63, 129, 16},   // Azure
	{169, 254, 42, 42},   // Scaleway
	{169, 254, 0, 23},    // Tencent Cloud
	{0xfd, 0, 0x0e, 0xc2, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0x02, 0x54},    // Amazon EC2
	{0xfd, 0, 0x0e, 0xc2, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0x23},       // pods of Amazon EKS
	{0xfd, 0, 0, 0xc1, 0, 0, 0, 0, 0, 0, 0, 0, 0xa9, 0xfe, 0xa9, 0xfe}, // Oracle Cloud
	{0xfe, 0x80, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xa9, 0xfe, 0xa9, 0xfe}, // OpenStack
	{0xfd, 0, 0, 0x42, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0x42},          // Scaleway
	{0xfd, 0x20, 0, 0xce, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0x02, 0x54},    // Google Cloud
}

// prefixesOfV4 are those by which an IPv6 address contains an IPv4 address: mapped, compatible and
// translated ones.
var prefixesOfV4 = [][]byte{
	{0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff},
	{0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0},
	{0, 0x64, 0xff, 0x9b, 0, 0, 0, 0, 0, 0, 0, 0},
}

// isMetadata reports whether an address in the form of the kernel is that of a metadata server.
func isMetadata(address []byte) bool {
	const family, v4, v6 = 2, 2, 10 // bytes of the family; the numbers of IPv4 and IPv6
	if len(address) < family {
		return false
	}
	switch int(address[0]) | int(address[1])<<8 { // little-endian, like every machine that has the filter
	case v4:
		return len(address) >= 8 && isMetadataIP(address[4:8])
	case v6:
		if len(address) < 24 {
			return false
		}
		ip := address[8:24]
		for _, prefix := range prefixesOfV4 {
			if equal(ip[:len(prefix)], prefix) && isMetadataIP(ip[len(prefix):]) {
				return true
			}
		}
		return isMetadataIP(ip)
	}
	return false
}

func isMetadataIP(ip []byte) bool {
	for _, server := range metadataServers {
		if equal(ip, server) {
			return true
		}
	}
	return false
}

func equal(a, b []byte) bool { return string(a) == string(b) }
