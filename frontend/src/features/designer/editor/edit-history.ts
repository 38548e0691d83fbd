/** What can be undone and redone. */
export interface EditHistory<T> {
  readonly past: readonly T[]
  readonly present: T
  readonly future: readonly T[]
  /** Subject of the last edit: the next edit with the same subject replaces it, such as letters typed into one field. */
  readonly lastEdit: string | undefined
}

const MAX_STEPS = 200

/** A history that begins here. */
export function beginHistory<T>(present: T): EditHistory<T> {
  return { past: [], present, future: [], lastEdit: undefined }
}

/** The history with one more edit; undone edits can no longer be redone. */
export function edit<T>(history: EditHistory<T>, present: T, about?: string): EditHistory<T> {
  if (present === history.present) return history
  const joins = about !== undefined && about === history.lastEdit
  const past = joins ? history.past : [...history.past, history.present].slice(-MAX_STEPS)
  return { past, present, future: [], lastEdit: about }
}

/** One step back; the same history when there is none. */
export function undo<T>(history: EditHistory<T>): EditHistory<T> {
  const before = history.past.at(-1)
  if (before === undefined) return history
  return {
    past: history.past.slice(0, -1),
    present: before,
    future: [history.present, ...history.future],
    lastEdit: undefined,
  }
}

/** One step forward again; the same history when there is none. */
export function redo<T>(history: EditHistory<T>): EditHistory<T> {
  const [next, ...future] = history.future
  if (next === undefined) return history
  return { past: [...history.past, history.present], present: next, future, lastEdit: undefined }
}
