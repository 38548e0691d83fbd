import { useClipboard } from '@mantine/hooks'
import { common } from '../../strings/everywhere/common.ts'
import classes from './copyable.module.css'
import { CheckIcon, CopyIcon } from '../icons.tsx'
import { useRowTabIndex } from '../row-active.ts'

export interface CopyableProps {
  readonly text: string
  /** Shown instead of the text, for example its beginning. */
  readonly shown?: string
  /** What the text is: `snapshot id`. */
  readonly what: string
  readonly mono?: boolean
  /** Breaks instead of being cut off. */
  readonly wrap?: boolean
}

/** Text with a button that copies it. */
export function Copyable({ text, shown = text, what, mono = true, wrap = false }: CopyableProps) {
  const look = [classes.text, mono && classes.mono, wrap && classes.wrap].filter(Boolean).join(' ')
  return (
    <span className={classes.copyable}>
      <span className={look} title={wrap ? undefined : text}>
        {shown}
      </span>
      <CopyIconButton text={text} what={what} />
    </span>
  )
}

/** A small button that copies a text and confirms it. Plain HTML, because lists have one in every row. */
export function CopyIconButton({ text, what }: { readonly text: string; readonly what: string }) {
  const { copied, copy } = useClipboard({ timeout: 1500 })
  const tabIndex = useRowTabIndex()
  const label = copied ? common.copied : common.copyWhat(what)
  return (
    <button
      type="button"
      className={classes.button}
      aria-label={label}
      title={label}
      tabIndex={tabIndex}
      data-quiet
      onClick={() => copy(text)}
    >
      {copied ? <CheckIcon size={14} /> : <CopyIcon size={14} />}
    </button>
  )
}
