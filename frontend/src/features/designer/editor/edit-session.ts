/** The time in which the editor stays open: it begins when a version is chosen, and goes on when the graph is saved. */
export interface EditSession {
  /** The version that the editor shows. */
  readonly versionId: string
  /** The version that the graph was saved as, which the editor shows next. */
  readonly savedAs: string | undefined
  /** Another number is another editor, without the edits and the answers of the one before. */
  readonly number: number
}

/** The session in which a version is shown: the same one if the graph was saved as this version in it, else a new one. */
export function sessionWith(session: EditSession, versionId: string): EditSession {
  if (session.versionId === versionId) return session
  const { number, savedAs } = session
  return { versionId, savedAs: undefined, number: savedAs === versionId ? number : number + 1 }
}

/** The wanted version if the graph was just saved as it: the list of versions may not have it yet. */
export function savedId({ versionId, savedAs }: EditSession, wanted: string | undefined): string | undefined {
  return wanted === savedAs || wanted === versionId ? wanted : undefined
}
