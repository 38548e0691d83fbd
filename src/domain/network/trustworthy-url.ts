/** Whether what comes from there cannot be changed on the way: https, or http that does not leave the machine. */
export function isTrustworthyUrl(text: string): boolean {
  const url = URL.parse(text)
  if (!url || url.username || url.password) return false
  const loopback = /^(localhost|127(\.\d+){3}|\[::1\])$/.test(url.hostname)
  return url.protocol === 'https:' || (url.protocol === 'http:' && loopback)
}
