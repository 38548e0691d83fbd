// Checks the imports between folders at every depth, and the sub-layers of `layers.json`.
import { importsOf, type SourceTree } from './imports.ts'

/**
 * The folders in a folder, by its path, as floors from the top down. A folder imports only folders of lower floors, directly
 * or through files of the parent folder.
 */
export type Sublayers = Readonly<Record<string, readonly (readonly string[])[]>>

/** Both ends of an import, or of a chain of imports. */
interface Example {
  readonly from: string
  readonly to: string
}

/** What an entry of a folder imports: for each other entry one example. */
type Edges = ReadonlyMap<string, ReadonlyMap<string, Example>>

interface Folder {
  /** The folders in it; its other entries are files. */
  readonly folders: ReadonlySet<string>
  readonly edges: Edges
}

/**
 * The circles between entries of a folder, one sentence each. The entries of a folder are its folders and the files directly in
 * it, so a folder may import a file of its parent if that file does not import the folder, not even through others.
 */
export function circleProblems(tree: SourceTree): string[] {
  return [...foldersOf(tree)].flatMap(([path, { folders, edges }]) =>
    circles(edges)
      .filter((members) => members.some((name) => folders.has(name)))
      .map((members) => {
        const examples = circleThrough(members, edges).map(({ from, to }) => `${from} imports ${to}`)
        return `circle in ${path} between ${members.join(', ')}: ${examples.join('; ')}`
      }),
  )
}

/** The folders that are on the wrong floor or on none, floors of folders that do not exist, and imports that do not point down. */
export function sublayerProblems(tree: SourceTree, sublayers: Sublayers): string[] {
  const found = foldersOf(tree)
  return Object.entries(sublayers).flatMap(([path, floors]) => {
    const folder = found.get(path)
    if (folder === undefined) return [`layers.json has floors for ${path}, which does not exist`]
    const floorOf = new Map(floors.flatMap((names, floor) => names.map((name) => [name, floor] as const)))
    return [
      ...[...folder.folders]
        .filter((name) => !floorOf.has(name))
        .map((name) => `${path}/${name} is on no floor in layers.json`),
      ...[...floorOf.keys()]
        .filter((name) => !folder.folders.has(name))
        .map((name) => `layers.json has a floor for ${path}/${name}, which does not exist`),
      ...floors.flat().flatMap((name) => importsUpward(path, name, { folder, floorOf })),
    ]
  })
}

/** The table of the sub-layers, for ARCHITECTURE.md. */
export function sublayerTable(sublayers: Sublayers): string {
  const rows = Object.entries(sublayers).map(
    ([path, floors]) => `| \`${path}/\` | ${floors.map((names) => names.join(', ')).join(' → ')} |`,
  )
  return ['| In | Folders, from the top down |', '|---|---|', ...rows].join('\n')
}

interface Floors {
  readonly folder: Folder
  readonly floorOf: ReadonlyMap<string, number>
}

function importsUpward(path: string, name: string, { folder, floorOf }: Floors): string[] {
  const floor = floorOf.get(name) ?? 0
  return [...reachedFolders(name, folder)]
    .filter(([to]) => (floorOf.get(to) ?? Number.POSITIVE_INFINITY) <= floor)
    .map(([to, { from, to: target }]) => {
      const place = floorOf.get(to) === floor ? 'on the same floor' : 'above it'
      return `${from} leads to ${target}: layers.json has ${to} ${place} in ${path}`
    })
}

/** The folders beside a folder that it imports, also through files beside it. */
function reachedFolders(name: string, { folders, edges }: Folder): ReadonlyMap<string, Example> {
  const reached = new Map<string, Example>()
  const seen = new Set([name])
  const pending: [string, Example][] = [...(edges.get(name) ?? [])]
  for (const [to, example] of pending) {
    if (seen.has(to)) continue
    seen.add(to)
    if (folders.has(to)) reached.set(to, example)
    else
      for (const [next, { to: target }] of edges.get(to) ?? []) pending.push([next, { from: example.from, to: target }])
  }
  return reached
}

/** Every folder of a tree, by its path, with the imports between its entries. */
function foldersOf(tree: SourceTree): ReadonlyMap<string, Folder> {
  const edges = edgesByFolder(tree)
  const inner = new Map<string, Set<string>>()
  for (const path of tree.keys()) {
    const parts = path.split('/')
    for (let depth = 1; depth < parts.length; depth += 1) {
      const folder = parts.slice(0, depth).join('/')
      const names = inner.get(folder) ?? new Set<string>()
      inner.set(folder, names)
      if (depth < parts.length - 1) names.add(parts[depth] ?? '')
    }
  }
  return new Map([...inner].map(([path, folders]) => [path, { folders, edges: edges.get(path) ?? new Map() }] as const))
}

function edgesByFolder(tree: SourceTree): ReadonlyMap<string, Edges> {
  const found = new Map<string, Map<string, Map<string, Example>>>()
  const imports = [...tree].flatMap(([path, text]) => importsOf(path, text))
  for (const { from, target, isFile } of imports) {
    const shared = isFile ? sharedFolder(from, target) : undefined
    if (shared === undefined) continue
    const edges = found.get(shared.folder) ?? new Map<string, Map<string, Example>>()
    const targets = edges.get(shared.from) ?? new Map<string, Example>()
    found.set(shared.folder, edges.set(shared.from, targets))
    if (!targets.has(shared.to)) targets.set(shared.to, { from, to: target })
  }
  return found
}

/** The deepest folder that contains both files, and the two entries of it that lead to them. */
function sharedFolder(
  from: string,
  to: string,
): { readonly folder: string; readonly from: string; readonly to: string } | undefined {
  const a = from.split('/')
  const b = to.split('/')
  const depth = a.findIndex((name, at) => name !== b[at])
  const [fromName, toName] = [a[depth], b[depth]]
  if (depth < 1 || fromName === undefined || toName === undefined) return undefined
  return { folder: a.slice(0, depth).join('/'), from: fromName, to: toName }
}

/** Groups of names that all reach each other (strongly connected components of more than one), each sorted. */
function circles(edges: Edges): string[][] {
  const grouped = new Set<string>()
  return [...edges.keys()].toSorted().flatMap((name) => {
    if (grouped.has(name)) return []
    const ahead = reach(name, edges)
    const members = [...ahead].filter((other) => reach(other, edges).has(name))
    for (const member of members) grouped.add(member)
    return members.length > 1 ? [members.toSorted()] : []
  })
}

/** Every name that can be reached from one; itself only through a circle. */
function reach(start: string, edges: Edges): ReadonlySet<string> {
  const reached = new Set<string>()
  const pending = [start]
  for (let name = pending.pop(); name !== undefined; name = pending.pop()) {
    for (const to of edges.get(name)?.keys() ?? []) {
      if (reached.has(to)) continue
      reached.add(to)
      pending.push(to)
    }
  }
  return reached
}

/** One shortest circle through the first member, as the imports that make it. */
function circleThrough(members: readonly string[], edges: Edges): readonly Example[] {
  const [start = ''] = members
  const paths: { readonly at: string; readonly steps: readonly Example[] }[] = [{ at: start, steps: [] }]
  const seen = new Set<string>()
  for (const { at, steps } of paths) {
    for (const [to, example] of edges.get(at) ?? []) {
      if (to === start) return [...steps, example]
      if (seen.has(to) || !members.includes(to)) continue
      seen.add(to)
      paths.push({ at: to, steps: [...steps, example] })
    }
  }
  return []
}
