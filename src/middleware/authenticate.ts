import { createMiddleware } from 'hono/factory'
import { DomainError } from '../domain/errors.ts'
import type { Caller } from '../domain/roles.ts'
import type { AppEnv } from './app-env.ts'

/** Finds the caller of a token, or undefined when the token is unknown, expired or revoked. */
export type TokenCheck = (token: string) => Promise<Caller | undefined>

const LOCAL: Caller = { user: 'local', role: 'LeadDataEngineer', via: 'off' }

/** Establishes who calls (contract, section 3); a bad credential is refused even where none is needed. */
export function authenticate({ mode, checkToken }: { mode: 'token' | 'off'; checkToken: TokenCheck }) {
  return createMiddleware<AppEnv>(async function identify(c, next) {
    c.set('caller', mode === 'off' ? LOCAL : await callerOf(c.req.header('authorization'), checkToken))
    await next()
  })
}

async function callerOf(header: string | undefined, checkToken: TokenCheck): Promise<Caller | undefined> {
  if (header === undefined) return undefined
  const token = /^Bearer +([\x21-\x7e]+)$/i.exec(header)?.[1]
  const caller = token ? await checkToken(token) : undefined
  if (!caller) throw new DomainError('UNAUTHENTICATED', 'the credential is not valid')
  return caller
}
