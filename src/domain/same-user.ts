/** Whether two names are those of one user: identity providers do not agree on the case and the form of letters. */
export function isSameUser(a: string, b: string): boolean {
  return foldName(a) === foldName(b)
}

function foldName(name: string): string {
  return name.normalize('NFKC').toLowerCase()
}
