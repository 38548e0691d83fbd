// Checks the structure of `src` against `layers.json`, and the graph in ARCHITECTURE.md; `--write` updates the graph.
import { readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { layerGraph, layerProblems, type Layers } from './layers.ts'

const root = join(import.meta.dirname, '..', '..')
const document = join(root, 'ARCHITECTURE.md')
const list: Layers = JSON.parse(readFileSync(join(root, 'layers.json'), 'utf8'))

const paths = readdirSync(join(root, 'src'), { recursive: true, encoding: 'utf8' }).filter((path) =>
  /\.tsx?$/.test(path),
)
const tree = new Map(
  paths.map((path) => [path.replaceAll('\\', '/'), readFileSync(join(root, 'src', path), 'utf8')] as const),
)
const problems = layerProblems(tree, list)
const text = readFileSync(document, 'utf8')
const updated = text.replace(/```mermaid\n[\s\S]*?```/, () => layerGraph(list))
if (process.argv.includes('--write')) writeFileSync(document, updated)
else if (updated !== text) {
  problems.push(
    'the graph in ARCHITECTURE.md differs from layers.json: run `npx bun scripts/checks/check-layers.ts --write`',
  )
}
for (const problem of problems) console.error(problem)
if (problems.length > 0) process.exit(1)
