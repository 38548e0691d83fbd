import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { expect, it } from 'vitest'
import { parseJson } from '../../../src/iceberg/json/lossless-json.ts'

const DOCUMENTS = 20
const DOCUMENT_BYTES = 2 ** 21

it('a string of a document keeps no memory of the document when only the string is still used', async () => {
  const kept: string[] = []
  const before = await memoryInUse()
  for (let at = 0; at < DOCUMENTS; at++) kept.push(locationIn(`file:///warehouse/table-${at}/metadata`))
  const grown = (await memoryInUse()) - before
  expect(kept.at(-1)).toBe('file:///warehouse/table-19/metadata')
  expect(grown).toBeLessThan((DOCUMENTS * DOCUMENT_BYTES) / 2)
})

function locationIn(location: string): string {
  const text = JSON.stringify({ location, filler: 'x'.repeat(DOCUMENT_BYTES) })
  const document = parseJson(new TextEncoder().encode(text)) as { readonly location: string }
  return document.location
}

/** Memory of objects that are still used, outside of the heap too: long texts are there on Node. */
async function memoryInUse(): Promise<number> {
  for (let round = 0; round < 2; round++) {
    collectGarbage()
    // the runtimes release some memory only after the current task
    await new Promise((resolve) => setImmediate(resolve))
  }
  const { heapUsed, external } = process.memoryUsage()
  return heapUsed + external
}

function collectGarbage(): void {
  if ('Bun' in globalThis) {
    Bun.gc(true)
    return
  }
  setFlagsFromString('--expose-gc')
  const collect: unknown = runInNewContext('gc')
  if (typeof collect === 'function') collect()
}
