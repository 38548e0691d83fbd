// `npm run api-docs`: writes what is generated from the route table and the status table of errors: parts of docs/api.md, and
// the endpoints of the command line. With --check it writes nothing and fails when they are out of date.
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { withGeneratedParts } from './api-docs-parts.ts'
import { cliEndpoints, cliFields } from './cli-endpoints.ts'

const root = join(import.meta.dirname, '..', '..')
const files: Readonly<Record<string, (current: string) => string>> = {
  'docs/api.md': withGeneratedParts,
  'src/cli/generated/endpoints.ts': cliEndpoints,
  'src/cli/generated/fields.ts': cliFields,
}
for (const [name, generate] of Object.entries(files)) {
  const path = join(root, name)
  const current = existsSync(path) ? readFileSync(path, 'utf8') : ''
  const expected = generate(current)
  if (current !== expected && process.argv.includes('--check')) {
    console.error(`${name} does not match the routes: run \`npm run api-docs\` and commit the result`)
    process.exitCode = 1
  } else if (current !== expected) writeFileSync(path, expected)
}
