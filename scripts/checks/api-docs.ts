// `npm run api-docs`: writes the generated parts of docs/api.md from the route table and the status table of errors.
// With --check it writes nothing and fails when they are out of date.
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { withGeneratedParts } from './api-docs-parts.ts'

const path = join(import.meta.dirname, '..', '..', 'docs', 'api.md')
const current = readFileSync(path, 'utf8')
const expected = withGeneratedParts(current)
if (current !== expected && process.argv.includes('--check')) {
  console.error('docs/api.md does not match the routes: run `npm run api-docs` and commit the result')
  process.exit(1)
}
writeFileSync(path, expected)
