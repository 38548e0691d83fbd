/** What is shown in place of a secret, and taken as "keep what is there". */
export const REDACTED = '***'

/** The password of `scheme://user:password@host`: it ends at the last `@` before the path, as URL parsers read it. */
const PASSWORD = /^([\w+:.-]+:\/\/[^/?#:]*):([^/?#]*)@/

/** An address with {@link REDACTED} in place of the password that it may carry. */
export function hidePassword(uri: string): string {
  return uri.replace(PASSWORD, (_match, before: string) => `${before}:${REDACTED}@`)
}

/** The password in an address, as it is written there; undefined without one. */
export function passwordIn(uri: string): string | undefined {
  return PASSWORD.exec(uri)?.[2]
}
