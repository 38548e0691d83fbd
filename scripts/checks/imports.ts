// Reads the imports of source files for the checks of their structure.
import { dirname, join, normalize } from 'node:path'

/** Texts of source files by their path, with `/` between folders. */
export type SourceTree = ReadonlyMap<string, string>

export interface Import {
  readonly from: string
  /** Path in the same tree, or the name of a package. */
  readonly target: string
  readonly isFile: boolean
}

const IMPORT =
  /^\s*(?:import\s+(?:type\s+)?[\w$*\s{},]+?\sfrom|export\s+(?:type\s+)?(?:\*(?:\s+as\s+[\w$]+)?|\{[^}]*\})\s*from|import)\s*['"]([^'"]+)['"]/gm
/** Excludes methods named `import`, which are called on an object or start the line of their definition. */
const DYNAMIC_IMPORT = /(?<![.\w$])(?<!^\s*(?:async )?)import\(\s*(?:['"]([^'"]+)['"]\s*\))?/gm

/** The imports of a file, types and dynamic imports included; the target is empty when it is not a literal. */
export function importsOf(from: string, text: string): Import[] {
  const named = [...text.matchAll(IMPORT)].map(([, name = '']) => name)
  const dynamic = [...text.matchAll(DYNAMIC_IMPORT)].map(([, name = '']) => name)
  return [...named, ...dynamic].map((name) =>
    name.startsWith('.')
      ? { from, target: normalize(join(dirname(from), name)), isFile: true }
      : { from, target: name, isFile: false },
  )
}
