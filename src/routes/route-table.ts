import type { Route } from './route.ts'

/** The routes of one path, by method, and what stands where the path has parameters. */
export interface FoundPath {
  readonly byMethod: ReadonlyMap<string, Route>
  readonly params: Readonly<Record<string, string>>
  /** For the `Allow` header. */
  readonly allowed: string
  /** Whether the path exists now; undefined: always. */
  readonly available: (() => boolean) | undefined
}

/** Finds the routes of a path; a path that is written out goes before one with a parameter. */
export type RouteTable = (path: string) => FoundPath | undefined

interface Node {
  readonly literal: Map<string, Node>
  parameter?: Node
  /** Of a path that ends here; the names are those of its parameters in order. */
  end?: {
    readonly byMethod: Map<string, Route>
    readonly names: readonly string[]
    readonly available: (() => boolean) | undefined
    allowed: string
  }
}

const PARAMETER = /^\{(\w+)\}$/

/** A table over routes, as a tree of path segments. */
export function createRouteTable(routes: readonly Route[]): RouteTable {
  const root: Node = { literal: new Map() }
  for (const route of routes) add(root, route)
  return (path) => {
    const values: string[] = []
    const end = find(root, path.split('/'), 1, values)
    if (!end) return undefined
    const params = Object.fromEntries(end.names.map((name, i) => [name, decode(values[i] ?? '')]))
    return { byMethod: end.byMethod, params, allowed: end.allowed, available: end.available }
  }
}

function add(root: Node, route: Route): void {
  const names: string[] = []
  let node = root
  for (const segment of route.path.split('/').slice(1)) {
    const name = PARAMETER.exec(segment)?.[1]
    if (name !== undefined) names.push(name)
    const next: Node = (name === undefined ? node.literal.get(segment) : node.parameter) ?? { literal: new Map() }
    if (name === undefined) node.literal.set(segment, next)
    else node.parameter = next
    node = next
  }
  node.end ??= { byMethod: new Map(), names, available: route.available, allowed: '' }
  node.end.byMethod.set(route.method.toUpperCase(), route)
  const methods = [...node.end.byMethod.keys()].map((method) => (method === 'GET' ? 'GET, HEAD' : method))
  node.end.allowed = methods.join(', ')
}

function find(node: Node, segments: readonly string[], at: number, values: string[]): Node['end'] {
  const segment = segments[at]
  if (segment === undefined) return node.end
  const literal = node.literal.get(segment)
  const found = literal && find(literal, segments, at + 1, values)
  if (found || !node.parameter || segment === '') return found
  values.push(segment)
  const below = find(node.parameter, segments, at + 1, values)
  if (!below) values.pop()
  return below
}

function decode(segment: string): string {
  if (!segment.includes('%')) return segment
  try {
    return decodeURIComponent(segment)
  } catch {
    return segment
  }
}
