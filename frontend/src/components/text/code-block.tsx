import classes from './code-block.module.css'
import { CopyIconButton } from './copyable.tsx'

export interface CodeBlockProps {
  readonly code: string
  /** What the code is, such as `request`, for the copy button and screen readers. */
  readonly label: string
  /** Maximum height in px before it scrolls; default 320. */
  readonly maxHeight?: number
}

/** Unformatted code or JSON, with a copy button. */
export function CodeBlock({ code, label, maxHeight = 320 }: CodeBlockProps) {
  return (
    <div className={classes.block}>
      {/* oxlint-disable-next-line jsx-a11y/no-noninteractive-tabindex -- what scrolls must be reachable by keyboard */}
      <pre style={{ maxHeight }} tabIndex={0} role="region" aria-label={label}>
        <code>{code}</code>
      </pre>
      <div className={classes.copy}>
        <CopyIconButton text={code} what={label} />
      </div>
    </div>
  )
}
