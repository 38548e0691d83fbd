import { RECENT_QUERIES as KEY } from '../../api/stored-keys.ts'

const MAX = 20

/** The queries of this browser, newest first. */
export function recentQueries(): readonly string[] {
  try {
    const stored: unknown = JSON.parse(localStorage.getItem(KEY) ?? '[]')
    return Array.isArray(stored) ? stored.filter((one) => typeof one === 'string').slice(0, MAX) : []
  } catch {
    return [] // no storage, or nothing that this page wrote
  }
}

/** Puts a query first; the list has each text once. */
export function rememberQuery(sql: string): readonly string[] {
  const next = [sql, ...recentQueries().filter((one) => one !== sql)].slice(0, MAX)
  try {
    localStorage.setItem(KEY, JSON.stringify(next))
  } catch {
    // without storage, the list is of this visit only
  }
  return next
}
