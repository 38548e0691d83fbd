import type { TokenRecord, TokenStore } from '../../storage/stores/token-store.ts'

/** Finds tokens by their hash; may remember those that it has found before. */
export interface KnownTokens {
  find(tokenSha256: string): Promise<TokenRecord | undefined>
  /** A token that is remembered. */
  remembered(tokenSha256: string): TokenRecord | undefined
  /** Must be called after each change of tokens, because the remembered ones may be outdated. */
  forget(): void
}

const MAX_TOKENS = 1000

/**
 * Remembers tokens for a process that is the only one to change them; a revoked token is invalid as soon as `forget`
 * returns. With `alone: false` every request reads the database.
 */
export function createKnownTokens(tokens: TokenStore, { alone }: { readonly alone: boolean }): KnownTokens {
  let known = new Map<string, TokenRecord>()
  return {
    async find(tokenSha256) {
      const remembered = known.get(tokenSha256)
      if (remembered) return remembered
      const before = known
      const found = await tokens.findByHash(tokenSha256)
      // A value read before a change is not remembered after it.
      if (found && alone && before === known && known.size < MAX_TOKENS) known.set(tokenSha256, found)
      return found
    },
    remembered: (tokenSha256) => known.get(tokenSha256),
    forget() {
      known = new Map()
    },
  }
}
