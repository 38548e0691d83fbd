const c1 = 0xcc9e2d51
const c2 = 0x1b873593

/** Murmur3, x86 variant, 32 bits, seed 0, as a signed 32-bit integer (Iceberg spec, Appendix B). */
export function murmur3(bytes: Uint8Array): number {
  const blocks = bytes.length & ~3
  let hash = 0
  for (let at = 0; at < blocks; at += 4) {
    const block =
      byteAt(bytes, at) | (byteAt(bytes, at + 1) << 8) | (byteAt(bytes, at + 2) << 16) | (byteAt(bytes, at + 3) << 24)
    hash = mixHash(hash, block)
  }
  let tail = 0
  for (let at = bytes.length - 1; at >= blocks; at -= 1) tail = (tail << 8) | byteAt(bytes, at)
  if (blocks < bytes.length) hash ^= mixBlock(tail)
  return finish(hash, bytes.length)
}

/** The hash of a 64-bit integer as eight little-endian bytes; 32-bit integers, dates and times are hashed like this too. */
export function murmur3Long(value: bigint): number {
  const low = Number(BigInt.asIntN(32, value))
  const high = Number(BigInt.asIntN(32, value >> 32n))
  return finish(mixHash(mixHash(0, low), high), 8)
}

function byteAt(bytes: Uint8Array, at: number): number {
  return bytes[at] ?? 0
}

function mixBlock(block: number): number {
  const product = Math.imul(block, c1)
  return Math.imul((product << 15) | (product >>> 17), c2)
}

function mixHash(hash: number, block: number): number {
  const mixed = hash ^ mixBlock(block)
  return (Math.imul((mixed << 13) | (mixed >>> 19), 5) + 0xe6546b64) | 0
}

function finish(hash: number, length: number): number {
  let mixed = hash ^ length
  mixed = Math.imul(mixed ^ (mixed >>> 16), 0x85ebca6b)
  mixed = Math.imul(mixed ^ (mixed >>> 13), 0xc2b2ae35)
  return (mixed ^ (mixed >>> 16)) | 0
}
