/**
 * The place of a cell on the Z-order curve is the sum of one part of each coordinate: its bits, with those of the other coordinates
 * between them. `at` is the number of the coordinate of `dimensions`.
 */
export function zOrderPart(coordinate: number, { at, dimensions }: { at: number; dimensions: number }): bigint {
  let part = 0n
  for (let bit = 0n, left = coordinate; left > 0; bit += 1n, left >>= 1) {
    if ((left & 1) === 1) part |= 1n << (bit * BigInt(dimensions) + BigInt(dimensions - 1 - at))
  }
  return part
}

/**
 * The place of a cell on the Hilbert curve over coordinates of `bits` bits, at most 2^31. Neighbours on the curve are neighbours in
 * space. The method is that of J. Skilling, "Programming the Hilbert curve" (2004).
 */
export function hilbertPlace(coordinates: readonly number[], bits: number): number {
  const axes = [...coordinates]
  for (let bit = 1 << (bits - 1); bit > 1; bit >>= 1) {
    const low = bit - 1
    for (let at = 0; at < axes.length; at += 1) turn(axes, at, { bit, low })
  }
  for (let at = 1; at < axes.length; at += 1) axes[at] = (axes[at] ?? 0) ^ (axes[at - 1] ?? 0)
  let mask = 0
  for (let bit = 1 << (bits - 1); bit > 1; bit >>= 1) if (((axes.at(-1) ?? 0) & bit) !== 0) mask ^= bit - 1
  return interleave(
    axes.map((axis) => axis ^ mask),
    bits,
  )
}

/** Inverts the low bits of the first axis, or exchanges them with those of another axis. */
function turn(axes: number[], at: number, { bit, low }: { readonly bit: number; readonly low: number }): void {
  const [first = 0, axis = 0] = [axes[0], axes[at]]
  if ((axis & bit) !== 0) {
    axes[0] = first ^ low
    return
  }
  const exchanged = (first ^ axis) & low
  axes[0] = first ^ exchanged
  axes[at] = (axes[at] ?? 0) ^ exchanged
}

function interleave(axes: readonly number[], bits: number): number {
  let place = 0
  for (let bit = bits - 1; bit >= 0; bit -= 1) for (const axis of axes) place = place * 2 + ((axis >> bit) & 1)
  return place
}
