import { Button, Group, List, Modal, Stack, Text, TextInput } from '@mantine/core'
import { type ReactNode, useState } from 'react'
import { common } from '../strings/everywhere/common.ts'
import { Notice } from './status/notice.tsx'
import { errorText } from './status/states.tsx'
import { visibleText } from '../../../src/lib/visible-text.ts'

export interface ConfirmDialogProps {
  readonly opened: boolean
  readonly onClose: () => void
  readonly title: string
  /** What will be true afterwards, one sentence each. */
  readonly consequences: readonly string[]
  readonly confirmLabel: string
  /** Label of the button that closes the dialog without a change; default: Cancel. */
  readonly cancelLabel?: string
  readonly onConfirm: () => void
  readonly destructive?: boolean
  readonly busy?: boolean
  /** Why the last try failed. */
  readonly error?: unknown
  /** The word that must be typed before it can be confirmed. */
  readonly typeToConfirm?: { readonly word: string; readonly label: string }
  readonly confirmDisabled?: boolean
  /** A form above the buttons. */
  readonly children?: ReactNode
}

/** A confirmation dialog that lists the consequences of an action. */
export function ConfirmDialog(props: ConfirmDialogProps) {
  const { opened, onClose, title, busy = false } = props
  return (
    <Modal
      opened={opened}
      onClose={onClose}
      title={title}
      closeButtonProps={{ 'aria-label': common.close }}
      closeOnClickOutside={!busy}
      closeOnEscape={!busy}
    >
      <ConfirmBody {...props} />
    </Modal>
  )
}

/** Whether a word is typed as it is, or as the label shows it, from which it may be copied. */
function isConfirmed(typed: string, word: string | undefined): boolean {
  return word === undefined || typed === word || typed === visibleText(word)
}

function ConfirmBody(props: ConfirmDialogProps) {
  const {
    consequences,
    confirmLabel,
    cancelLabel = common.cancel,
    onConfirm,
    onClose,
    destructive = false,
    busy = false,
  } = props
  const { error, typeToConfirm, confirmDisabled = false, children } = props
  const [typed, setTyped] = useState('')
  const ready = !confirmDisabled && isConfirmed(typed, typeToConfirm?.word)
  return (
    <form
      onSubmit={(event) => {
        event.preventDefault()
        event.stopPropagation() // a form around the dialog gets the event too, although the dialog is drawn elsewhere
        if (ready && !busy) onConfirm()
      }}
    >
      <Stack gap="sm">
        <Consequences texts={consequences} />
        {children}
        {typeToConfirm && (
          <TextInput
            label={typeToConfirm.label}
            value={typed}
            onChange={(event) => setTyped(event.currentTarget.value)}
            autoComplete="off"
            spellCheck={false}
            data-autofocus
          />
        )}
        {error !== undefined && error !== null && <Notice tone="bad">{errorText(error)}</Notice>}
        <Group justify="flex-end" gap="xs">
          <Button variant="default" onClick={onClose} disabled={busy}>
            {cancelLabel}
          </Button>
          <Button type="submit" disabled={!ready} loading={busy} {...(destructive ? { color: 'red.8' } : {})}>
            {confirmLabel}
          </Button>
        </Group>
      </Stack>
    </form>
  )
}

function Consequences({ texts }: { readonly texts: readonly string[] }) {
  if (texts.length === 0) return undefined
  if (texts.length === 1) return <Text size="sm">{texts[0]}</Text>
  return (
    <List size="sm" spacing={4}>
      {texts.map((text) => (
        <List.Item key={text}>{text}</List.Item>
      ))}
    </List>
  )
}
