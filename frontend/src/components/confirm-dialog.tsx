import { Button, Group, List, Modal, Stack, Text, TextInput } from '@mantine/core'
import { type ReactNode, useState } from 'react'
import { common } from '../strings/everywhere/common.ts'
import type { ActionState } from '../api/actions/use-action.ts'
import { ErrorNotice } from './status/error-notice.tsx'
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
  /** The request that the confirmation sends. It is forgotten when the dialog closes. */
  readonly action?: ActionState
  readonly destructive?: boolean
  /** Why the consequences are not known. */
  readonly error?: unknown
  /** The word that must be typed before it can be confirmed. */
  readonly typeToConfirm?: { readonly word: string; readonly label: string }
  readonly confirmDisabled?: boolean
  /** A form above the buttons. */
  readonly children?: ReactNode
}

/** A confirmation dialog that lists the consequences of an action. */
export function ConfirmDialog(props: ConfirmDialogProps) {
  const { opened, onClose, title, action } = props
  const isBusy = action?.isPending ?? false
  const close = (): void => {
    action?.reset()
    onClose()
  }
  return (
    <Modal opened={opened} onClose={close} title={title} closeOnClickOutside={!isBusy} closeOnEscape={!isBusy}>
      <ConfirmBody {...props} onClose={close} />
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
    action,
  } = props
  const { error, typeToConfirm, confirmDisabled = false, children } = props
  const isBusy = action?.isPending ?? false
  const [typed, setTyped] = useState('')
  const ready = !confirmDisabled && isConfirmed(typed, typeToConfirm?.word)
  return (
    <form
      onSubmit={(event) => {
        event.preventDefault()
        event.stopPropagation() // a form around the dialog gets the event too, although the dialog is drawn elsewhere
        if (ready && !isBusy) onConfirm()
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
        <ErrorNotice error={action?.error ?? error} />
        <Group justify="flex-end" gap="xs">
          <Button variant="default" onClick={onClose} disabled={isBusy}>
            {cancelLabel}
          </Button>
          <Button type="submit" disabled={!ready} loading={isBusy} {...(destructive ? { color: 'red.8' } : {})}>
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
