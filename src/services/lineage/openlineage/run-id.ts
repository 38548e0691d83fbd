const ALPHABET = '0123456789abcdefghjkmnpqrstvwxyz'
const ID = new RegExp(`^[a-z]+-([${ALPHABET}]{26})$`)

/**
 * The run id of OpenLineage for an id of this service (`domain/ids.ts`): a UUID of version 7 (RFC 9562, section 5.7) with the time of the
 * id and the last 74 of its 80 random bits. The same id has the same UUID in every process. Undefined for other texts.
 */
export function runUuid(id: string): string | undefined {
  const digits = ID.exec(id)?.[1]
  if (digits === undefined) return undefined
  let bits = 0n
  for (const digit of digits) bits = bits * 32n + BigInt(ALPHABET.indexOf(digit))
  const ms = (bits >> 80n) & 0xffff_ffff_ffffn
  const high = (bits >> 62n) & 0xfffn
  const low = bits & 0x3fff_ffff_ffff_ffffn
  const value = (ms << 80n) | (7n << 76n) | (high << 64n) | (2n << 62n) | low
  const hex = value.toString(16).padStart(32, '0')
  return [hex.slice(0, 8), hex.slice(8, 12), hex.slice(12, 16), hex.slice(16, 20), hex.slice(20)].join('-')
}
