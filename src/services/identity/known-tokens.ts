import type { TokenRecord, TokenStore } from '../../storage/token-store.ts'

/** Finds tokens by their hash, without asking the database for those that it has found before. */
export interface KnownTokens {
  find(tokenSha256: string): Promise<TokenRecord | undefined>
  /** To be called after each change of tokens: what is known may not be so any more. */
  forget(): void
}

const MAX_TOKENS = 1000

/**
 * Remembers tokens for a process that is the only one to change them; a revoked one is of no use from the moment that
 * `forget` returns. With `alone: false` every request asks the database.
 */
export function createKnownTokens(tokens: TokenStore, { alone }: { readonly alone: boolean }): KnownTokens {
  let known = new Map<string, TokenRecord>()
  return {
    async find(tokenSha256) {
      const remembered = known.get(tokenSha256)
      if (remembered) return remembered
      const before = known
      const found = await tokens.findByHash(tokenSha256)
      // What was read before a change is not kept after it.
      if (found && alone && before === known && known.size < MAX_TOKENS) known.set(tokenSha256, found)
      return found
    },
    forget() {
      known = new Map()
    },
  }
}
