import type { ReadHeaders } from '../../middleware/connection/header-map.ts'

/** Whether the client asks not to wait (RFC 7240, section 4.1). */
export function prefersAsync(headers: ReadHeaders): boolean {
  return (headers.get('prefer') ?? '').split(',').some((preference) => preference.trim() === 'respond-async')
}
