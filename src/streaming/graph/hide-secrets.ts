/** Replaces a text that contains a secret, or a part of one. */
export type HideSecrets = (text: string) => string

const HIDDEN = 'the message contains the value of a secret and is not shown'
/** Shorter parts of a secret may be shown: they would be in many ordinary texts. */
const PART_LENGTH = 6
const MAX_CAUSES = 10

/** Hides every text that contains one of the secrets or {@link PART_LENGTH} characters of it, ignoring case, spaces and quotes. */
export function hideSecrets(secrets: readonly string[]): HideSecrets {
  const plain = secrets.map(comparable).filter((secret) => secret !== '')
  return (text) => {
    const shown = comparable(text)
    return plain.some((secret) => sharesPart(secret, shown)) ? HIDDEN : text
  }
}

/** The same error without secrets in its message and those of its causes. */
export function withoutSecrets(error: unknown, hide: HideSecrets | undefined): unknown {
  if (hide === undefined) return error
  let at = error
  for (let depth = 0; at instanceof Error && depth < MAX_CAUSES; depth++) {
    const message = hide(at.message)
    if (message !== at.message) {
      at.message = message
      at.stack = `${at.name}: ${message}`
    }
    at = at.cause
  }
  return error
}

/** Engines may shorten a text, double its quotes or change its spaces and case. */
function comparable(text: string): string {
  return text.toLowerCase().replaceAll(/[\s'"\\]/g, '')
}

function sharesPart(secret: string, text: string): boolean {
  for (let at = 0; at === 0 || at + PART_LENGTH <= secret.length; at++) {
    if (text.includes(secret.slice(at, at + PART_LENGTH))) return true
  }
  return false
}
