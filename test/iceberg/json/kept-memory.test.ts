import { expect, it } from 'vitest'
import { parseJson } from '../../../src/iceberg/json/lossless-json.ts'
import { memoryInUse } from '../../support/memory-in-use.ts'

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
