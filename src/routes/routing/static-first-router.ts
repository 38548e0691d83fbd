import type { Result, Router } from 'hono/router'
import { RegExpRouter } from 'hono/router/reg-exp-router'
import { SmartRouter } from 'hono/router/smart-router'
import { TrieRouter } from 'hono/router/trie-router'

const PATTERN = /[:*{]/

/**
 * Two Hono routers, one for static paths and one for paths with parameters. Together in one router, such
 * as `/a/import` beside `/a/:id`, they would keep it from using its fast form (one regular expression for all paths).
 */
export class StaticFirstRouter<T> implements Router<T> {
  readonly name = 'StaticFirstRouter'
  readonly #static = createRouter<T>()
  readonly #patterns = createRouter<T>()
  readonly #staticPaths = new Set<string>()

  add(method: string, path: string, handler: T): void {
    if (!PATTERN.test(path)) {
      this.#staticPaths.add(path)
      this.#static.add(method, path, handler)
      return
    }
    if (path.includes('*')) this.#static.add(method, path, handler) // middleware is for both
    this.#patterns.add(method, path, handler)
  }

  match(method: string, path: string): Result<T> {
    return this.#staticPaths.has(path) ? this.#static.match(method, path) : this.#patterns.match(method, path)
  }
}

function createRouter<T>(): Router<T> {
  return new SmartRouter<T>({ routers: [new RegExpRouter<T>(), new TrieRouter<T>()] })
}
