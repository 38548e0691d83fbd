// Checks the structure of `src` and `frontend/src` against `layers.json`, and both pictures of the list in ARCHITECTURE.md;
// `--write` updates the pictures.
import { readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { circleProblems, sublayerProblems, type Sublayers, sublayerTable } from './folders.ts'
import { layerGraph, layerProblems, type Layers } from './layers.ts'

const root = join(import.meta.dirname, '..', '..')
const document = join(root, 'ARCHITECTURE.md')
const list: Layers & { readonly sublayers: Sublayers } = JSON.parse(readFileSync(join(root, 'layers.json'), 'utf8'))

/** Texts of the source files in a folder, by their path below it. */
function readTree(folder: string): ReadonlyMap<string, string> {
  const paths = readdirSync(join(root, folder), { recursive: true, encoding: 'utf8' })
  return new Map(
    paths
      .filter((path) => /\.tsx?$/.test(path))
      .map((path) => [path.replaceAll('\\', '/'), readFileSync(join(root, folder, path), 'utf8')]),
  )
}

const service = readTree('src')
const everything = new Map([
  ...[...service].map(([path, text]) => [`src/${path}`, text] as const),
  ...[...readTree('frontend/src')].map(([path, text]) => [`frontend/src/${path}`, text] as const),
])
const problems = [
  ...layerProblems(service, list),
  ...circleProblems(everything),
  ...sublayerProblems(everything, list.sublayers),
]
const text = readFileSync(document, 'utf8')
const [graph, table] = [layerGraph(list), sublayerTable(list.sublayers)]
if (process.argv.includes('--write')) {
  writeFileSync(
    document,
    text
      .replace(/```mermaid\n[\s\S]*?```/, () => graph)
      .replace(/\| In \| Folders, from the top down \|(?:\n\|.*\|)*/, () => table),
  )
} else if (!text.includes(`\n\n${graph}\n\n`) || !text.includes(`\n\n${table}\n\n`)) {
  problems.push(
    'the pictures in ARCHITECTURE.md differ from layers.json: run `npx bun scripts/checks/check-layers.ts --write`',
  )
}
for (const problem of problems) console.error(problem)
if (problems.length > 0) process.exit(1)
