import { Notice } from './notice.tsx'
import { errorText } from './states.tsx'

interface ErrorNoticeProps {
  /** Nothing is shown without an error. */
  readonly error: unknown
  readonly title?: string
}

/** The message of an error inside a page or dialog. */
export function ErrorNotice({ error, title }: ErrorNoticeProps) {
  if (error === null || error === undefined) return undefined
  return (
    <Notice tone="bad" title={title}>
      {errorText(error)}
    </Notice>
  )
}
