import { mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'

/** Files of a table, by their role. */
export interface TableFiles {
  readonly metadata: string
  readonly manifestList: string
  readonly manifests: readonly string[]
  readonly data: readonly string[]
  readonly positionDeletes: readonly string[]
}

/** A change to a file. */
export const DAMAGE: Readonly<Record<string, (path: string) => void>> = {
  'cut in half': (path) => edit(path, (bytes) => bytes.subarray(0, Math.floor(bytes.length / 2))),
  'cut before its last byte': (path) => edit(path, (bytes) => bytes.subarray(0, -1)),
  empty: (path) => edit(path, () => Buffer.alloc(0)),
  'full of zeros': (path) => edit(path, (bytes) => Buffer.alloc(bytes.length)),
  garbage: (path) => edit(path, (bytes) => noise(bytes.length)),
  'garbage in the middle': (path) => edit(path, (bytes) => overwrite(bytes, Math.floor(bytes.length / 2), 512)),
  'garbage at the start': (path) => edit(path, (bytes) => overwrite(bytes, 0, 16)),
  'garbage at the end': (path) => edit(path, (bytes) => overwrite(bytes, Math.max(0, bytes.length - 64), 64)),
  missing: (path) => rmSync(path),
  'a folder instead': (path) => {
    rmSync(path)
    mkdirSync(path)
  },
}

/** Changes to the metadata document that keep it valid JSON. */
export const METADATA_EDITS: Readonly<Record<string, (text: string) => string>> = {
  'of format version 4': (text) => text.replace(/"format-version"\s*:\s*\d/, '"format-version": 4'),
  'of format version 10^30': (text) =>
    text.replace(/"format-version"\s*:\s*\d/, `"format-version": 1${'0'.repeat(30)}`),
  'without a location': (text) => text.replace(/"location"\s*:/, '"somewhere":'),
  'with a number as location': (text) => text.replace(/"location"\s*:\s*"[^"]*"/, '"location": 7'),
  'without schemas': (text) => text.replace(/"schemas"\s*:/, '"schemes":').replace(/"schema"\s*:/, '"scheme":'),
  'with a current snapshot that is not there': (text) =>
    text.replaceAll(/"current-snapshot-id"\s*:\s*\d+/g, '"current-snapshot-id": 42'),
  'with snapshots that are no list': (text) => text.replace(/"snapshots"\s*:\s*\[/, '"snapshots": 1, "was": ['),
  'with an unknown type': (text) => text.replace('"double"', '"quaternion"'),
  'an array': (text) => `[${text}]`,
  'a string': () => '"metadata"',
  'nested a million deep': () => '['.repeat(1_000_000),
  'followed by garbage': (text) => `${text}}`,
}

/** Damages the metadata document. */
export function editMetadata(path: string, change: (text: string) => string): void {
  const before = readFileSync(path, 'utf8')
  const after = change(before)
  if (after === before) throw new Error(`the edit changed nothing in ${path}`)
  writeFileSync(path, after)
}

function edit(path: string, change: (bytes: Buffer) => Uint8Array): void {
  writeFileSync(path, change(readFileSync(path)))
}

function overwrite(bytes: Buffer, offset: number, length: number): Buffer {
  const copy = Buffer.from(bytes)
  noise(Math.min(length, copy.length - offset)).copy(copy, offset)
  return copy
}

/** The same bytes every time, without structure (high bits of a linear congruential generator). */
function noise(length: number): Buffer {
  const bytes = Buffer.alloc(length)
  let state = 12_345
  for (let i = 0; i < length; i++) {
    state = (Math.imul(state, 1_103_515_245) + 12_345) >>> 0
    bytes[i] = state >>> 24
  }
  return bytes
}
