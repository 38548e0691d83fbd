import { formSchema, type FormSchema } from '../../../components/form/form-schema.ts'
import { createTokenRequest } from '../../../components/form/schemas.ts'
import type { CreateTokenRequest, Role } from '../../../api/types.ts'
import { type ExpiryDays, expiryOf } from './token-state.ts'

/** The values of the form for a new token. */
export interface TokenForm {
  readonly user: string
  readonly role: Role
  readonly name: string
  readonly expires: ExpiryDays
  /** The caller's own token; not part of the request. */
  readonly proof: string
}

/** Checks the form for a new token and makes its request; `now` is when the token's lifetime begins. */
export function tokenSchema(now: Date): FormSchema<TokenForm, CreateTokenRequest> {
  return formSchema(createTokenRequest, ({ user, role, name, expires }: TokenForm) => {
    return { user, role, name: name.trim(), expires_at: expiryOf(expires, now) }
  })
}
