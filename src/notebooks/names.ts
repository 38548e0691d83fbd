import { sha256Hex } from '../lib/sha256.ts'

const PREFIX = 'notebook-'

/** Digits of a session, in hex. */
export const SESSION_DIGITS = 8

const HASH_DIGITS = 16
const SEPARATOR = '---'
/** A DNS label has up to 63 characters (RFC 1035); names of session objects add a hyphen and the session. */
const MAX_SLUG = 63 - PREFIX.length - 1 - SESSION_DIGITS

/**
 * The name of a user's pod and volume claim: a DNS label of at most 54 characters, different for every user. A user
 * name that is a DNS label is used unchanged; any other is reduced to the characters that a label allows, followed by a
 * hash of the full name. Only hashed names contain several hyphens in a row, so the two kinds never collide.
 */
export function notebookName(user: string): string {
  return `${PREFIX}${notebookSlug(user)}`
}

/** A unique DNS label for a user. */
export function notebookSlug(user: string): string {
  return isPlain(user) ? user : hashed(user)
}

/** The name of the objects that belong to one pod and are deleted with it: service, secret and config map. */
export function sessionName(podName: string, session: string): string {
  return `${podName}-${session}`
}

/** The name of the secret with the notebook's Lockhouse token, which is replaced while the notebook runs. */
export function lakeSecretName(podName: string, session: string): string {
  return `${sessionName(podName, session)}-lake`
}

function isPlain(user: string): boolean {
  return user.length <= MAX_SLUG && /^[a-z0-9]+(-[a-z0-9]+)*$/.test(user)
}

function hashed(user: string): string {
  const room = MAX_SLUG - SEPARATOR.length - HASH_DIGITS
  const words = user.toLowerCase().match(/[a-z0-9]+/g) ?? ['x']
  const readable = words.join('-').slice(0, room).replace(/-$/, '')
  return `${readable}${SEPARATOR}${sha256Hex(user).slice(0, HASH_DIGITS)}`
}
