/** Whether the client asks not to wait (RFC 7240, section 4.1). */
export function prefersAsync(headers: Headers): boolean {
  return (headers.get('prefer') ?? '').split(',').some((preference) => preference.trim() === 'respond-async')
}
