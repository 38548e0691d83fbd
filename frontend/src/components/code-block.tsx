import classes from './code-block.module.css'
import { CopyIconButton } from './copyable.tsx'

export interface CodeBlockProps {
  readonly code: string
  /** What it is, for the copy button and for those who cannot see it: `request`. */
  readonly label: string
  /** Greatest height in px before it scrolls; default 320. */
  readonly maxHeight?: number
}

/** Code or JSON as it is, with a copy button. */
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
