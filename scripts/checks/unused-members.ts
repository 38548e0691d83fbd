// Finds methods of classes and interfaces in `src` that nothing calls, which knip does not look for.
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'

/** A method, or a property that holds a function, where a class or an interface declares it. */
const DECLARATION =
  /^ {2,4}(?:readonly |async |static |get |override )*\*?([A-Za-z_$][\w$]*)\??(?:<[^>(]*>)?(?:\(|: (?:\([^)]*\)|[A-Z]\w*\['\w+'\]) =>)/
const KEYWORDS = new Set([
  'if',
  'for',
  'while',
  'switch',
  'catch',
  'return',
  'constructor',
  'function',
  'await',
  'throw',
])

/**
 * Methods that a text of `sources` declares and whose name occurs only in declarations and implementations,
 * as `path: name`; `users` are names that others mention. It looks at names only: a method is missed when
 * another one of its name is called.
 */
export function unusedMembers(sources: ReadonlyMap<string, string>, users: readonly string[]): string[] {
  const used = new Set([...users, ...[...sources.values()].flatMap(mentioned)])
  return [...sources].flatMap(([path, text]) =>
    declared(text)
      .filter((name) => !used.has(name))
      .map((name) => `${path}: ${name}`),
  )
}

/**
 * Names of the methods in the bodies of classes and interfaces; both begin and end at the margin. What a class implements
 * is looked for in the interface, which may be one of a package.
 */
function declared(text: string): string[] {
  const bodies = text.matchAll(
    /^(?:export )?(?:abstract )?(?:interface|class) (?![^\n]* implements )[^\n]*\{\n([\s\S]*?)^\}/gm,
  )
  const names = [...bodies].flatMap(([, body = '']) =>
    body.split('\n').flatMap((line) => (/^ {2}\S/.test(line) ? (DECLARATION.exec(line)?.[1] ?? []) : [])),
  )
  return [...new Set(names)].filter((name) => !KEYWORDS.has(name))
}

/** Every name in a text, except where a line declares or implements a method with that name. */
function mentioned(text: string): string[] {
  return withoutComments(text)
    .split('\n')
    .flatMap((line) => {
      const definition = /^\s*(?:readonly |async |static |get |override )*\*?([A-Za-z_$][\w$]*)\??(?:[(<]|:)/.exec(line)
      const rest = definition === null || KEYWORDS.has(definition[1] ?? '') ? line : line.slice(definition[0].length)
      return rest.match(/[A-Za-z_$][\w$]*/g) ?? []
    })
}

function withoutComments(text: string): string {
  return text.replaceAll(/\/\*[\s\S]*?\*\/|(?<=^|\s)\/\/[^\n]*/g, '')
}

/** Called by the language, or by tests that look for leaks. */
const CALLED_ELSEWHERE = ['toJSON', 'subscriberCount', 'watcherCount']

if (import.meta.main) {
  const root = join(import.meta.dirname, '..', '..')
  const read = (folder: string): [string, string][] =>
    readdirSync(join(root, folder), { recursive: true, encoding: 'utf8' })
      .filter((path) => /\.tsx?$/.test(path))
      .map((path) => [join(folder, path), readFileSync(join(root, folder, path), 'utf8')])
  const found = unusedMembers(new Map(read('src')), CALLED_ELSEWHERE)
  for (const member of found) console.error(`${member}() is not called: delete it`)
  if (found.length > 0) process.exit(1)
}
