import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { withGeneratedParts } from '../../../scripts/checks/api-docs-parts.ts'

const document = readFileSync(join(import.meta.dirname, '../../../docs/api.md'), 'utf8')

describe('docs/api.md', () => {
  it('has the endpoints and error codes of the code; `npm run api-docs` updates it', () => {
    expect(withGeneratedParts(document)).toBe(document)
  })

  it('gets a removed row and a removed code back', () => {
    const changed = document.replace(/^\| `POST \/api\/compact` .*\n/m, '').replace('`PLAN_STALE`, ', '')
    expect(changed).not.toBe(document)
    expect(withGeneratedParts(changed)).toBe(document)
  })
})
