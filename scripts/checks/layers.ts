// Checks the structure of `src` against `layers.json`: see `layerProblems`.
import { type Import, importsOf, type SourceTree } from './imports.ts'

/** What the files of one folder at the top of `src` may import. */
export interface Layer {
  /** Other folders and files at the top of `src`. */
  readonly imports: readonly string[]
  /** Packages, such as `zod`, `node:fs` or `@duckdb/node-api`; their subpaths are included. */
  readonly packages: readonly string[]
}

/** The content of `layers.json`. */
export interface Layers {
  /** Maximum number of files and folders in one folder. */
  readonly maxEntries: number
  readonly layers: Readonly<Record<string, Layer>>
}

/**
 * Everything in a tree, with paths below `src`, that the list does not allow, one sentence each: imports of other folders
 * and of packages, imports that cannot be read, cycles between files (type imports count), folders that are too large or
 * not in the list, and permissions that nothing uses.
 */
export function layerProblems(tree: SourceTree, list: Layers): string[] {
  const imports = [...tree].flatMap(([path, text]) => importsOf(path, text))
  const edges = new Map<string, string[]>()
  for (const { from, target, isFile } of imports) {
    if (isFile) edges.set(from, [...(edges.get(from) ?? []), target])
  }
  return [
    ...foldersNotListed(tree, list),
    ...imports.flatMap((found) => refused(found, list)),
    ...unusedPermissions(imports, list),
    ...cycles(edges).map((cycle) => `cycle between files: ${cycle.join(' → ')}`),
    ...cycles(new Map(Object.entries(list.layers).map(([name, layer]) => [name, [...layer.imports]]))).map(
      (cycle) => `cycle in layers.json: ${cycle.join(' → ')}`,
    ),
    ...largeFolders(tree, list.maxEntries),
  ]
}

/** The Mermaid graph of the list, for ARCHITECTURE.md: an edge that follows from two others is left out. */
export function layerGraph({ layers }: Layers): string {
  const next = (name: string): readonly string[] => layers[name]?.imports ?? []
  const reaches = (from: string, to: string): boolean => next(from).some((via) => via === to || reaches(via, to))
  const edges = Object.keys(layers).flatMap((from) =>
    next(from)
      .filter((to) => !next(from).some((via) => via !== to && reaches(via, to)))
      .map((to) => `  ${nodeName(from)} --> ${nodeName(to)}`),
  )
  return ['```mermaid', 'graph TD', ...edges, '```'].join('\n')
}

/** A Mermaid node id may not contain a dot, so a file gets a label. */
function nodeName(name: string): string {
  return name.includes('.') ? `${name.replaceAll('.', '_')}[${name}]` : name
}

/** The folder or file at the top of `src` that a path is in. */
function layerOf(path: string): string {
  return path.split('/')[0] ?? path
}

function packageOf(name: string): string {
  return name
    .split('/')
    .slice(0, name.startsWith('@') ? 2 : 1)
    .join('/')
}

function foldersNotListed(tree: SourceTree, { layers }: Layers): string[] {
  const present = new Set([...tree.keys()].map(layerOf))
  const missing = [...present].filter((name) => layers[name] === undefined)
  const gone = Object.keys(layers).filter((name) => !present.has(name))
  return [
    ...missing.map((name) => `src/${name} is not in layers.json: list what it may import`),
    ...gone.map((name) => `layers.json lists ${name}, which src does not have`),
  ]
}

function refused({ from, target, isFile }: Import, { layers }: Layers): string[] {
  if (target === '') return [`src/${from} has an import() whose target is not a literal`]
  if (isFile && target.startsWith('..')) return [`src/${from} imports ${target}, outside of src`]
  const layer = layerOf(from)
  const allowed = layers[layer]
  if (allowed === undefined) return [] // told by foldersNotListed
  if (!isFile) {
    const name = packageOf(target)
    return allowed.packages.includes(name)
      ? []
      : [`src/${from} imports ${name}: layers.json does not allow ${layer} to`]
  }
  const to = layerOf(target)
  if (to === layer || allowed.imports.includes(to)) return []
  return [`src/${from} imports src/${target}: layers.json does not allow ${layer} to import ${to}`]
}

function unusedPermissions(imports: readonly Import[], { layers }: Layers): string[] {
  const used = new Set(
    imports.map(({ from, target, isFile }) => `${layerOf(from)} ${isFile ? layerOf(target) : packageOf(target)}`),
  )
  return Object.entries(layers).flatMap(([name, { imports: folders, packages }]) =>
    [...folders, ...packages]
      .filter((allowed) => !used.has(`${name} ${allowed}`))
      .map((allowed) => `layers.json allows ${name} to import ${allowed}, which nothing does`),
  )
}

function largeFolders(tree: SourceTree, maxEntries: number): string[] {
  const entries = new Map<string, Set<string>>()
  for (const path of tree.keys()) {
    const parts = path.split('/')
    parts.forEach((name, depth) => {
      const folder = ['src', ...parts.slice(0, depth)].join('/')
      entries.set(folder, (entries.get(folder) ?? new Set()).add(name))
    })
  }
  return [...entries]
    .filter(([, names]) => names.size > maxEntries)
    .map(([folder, names]) => `${folder} has ${names.size} entries, more than ${maxEntries}: split it`)
}

/** One cycle for each group of nodes that reach each other, as a closed path. */
function cycles(edges: ReadonlyMap<string, readonly string[]>): string[][] {
  const found: string[][] = []
  const done = new Set<string>()
  for (const start of edges.keys()) {
    if (done.has(start)) continue
    const path = new Set([start])
    const pending = [{ node: start, next: 0 }]
    while (pending.length > 0) {
      const step = pending.at(-1)
      if (step === undefined) break
      const to = (edges.get(step.node) ?? [])[step.next]
      step.next += 1
      if (to === undefined) {
        done.add(step.node)
        pending.pop()
        path.delete(step.node)
      } else if (path.has(to)) {
        found.push([...[...path].slice([...path].indexOf(to)), to])
      } else if (!done.has(to)) {
        pending.push({ node: to, next: 0 })
        path.add(to)
      }
    }
  }
  return found
}
