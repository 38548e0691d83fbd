import type { Kysely } from 'kysely'
import type { StateTables } from '../../schema.ts'

/** A sign-in that a browser has begun, until the identity provider sends it back. */
export interface BegunSignIn {
  readonly stateSha256: string
  /** The hash of the secret in the browser's cookie. */
  readonly browserSha256: string
  readonly redirectUri: string
  /** The path of the page to open afterwards. */
  readonly returnTo: string
  /** RFC 3339. */
  readonly expiresAt: string
}

export interface BegunSignInStore {
  insert(signIn: BegunSignIn): Promise<void>
  /** Removes and returns a sign-in, so that only one caller gets it. */
  take(stateSha256: string): Promise<BegunSignIn | undefined>
  /** Deletes those that have expired. */
  deleteOver(now: string): Promise<void>
}

/** Begun sign-ins in the state database, so that any replica can complete what another one began. */
export function createBegunSignInStore(db: Kysely<StateTables>): BegunSignInStore {
  return {
    async insert({ stateSha256, browserSha256, redirectUri, returnTo, expiresAt }) {
      const row = { state_sha256: stateSha256, browser_sha256: browserSha256, redirect_uri: redirectUri }
      await db
        .insertInto('begun_sign_ins')
        .values({ ...row, return_to: returnTo, expires_at: expiresAt })
        .execute()
    },
    async take(stateSha256) {
      const query = db.deleteFrom('begun_sign_ins').where('state_sha256', '=', stateSha256).returningAll()
      const row = await query.executeTakeFirst()
      return (
        row && {
          stateSha256,
          browserSha256: row.browser_sha256,
          redirectUri: row.redirect_uri,
          returnTo: row.return_to,
          expiresAt: row.expires_at,
        }
      )
    },
    async deleteOver(now) {
      await db.deleteFrom('begun_sign_ins').where('expires_at', '<=', now).execute()
    },
  }
}
