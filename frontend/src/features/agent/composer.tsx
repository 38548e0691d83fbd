import { Button, NativeSelect, Textarea, TextInput, VisuallyHidden } from '@mantine/core'
import type { ChatRequest } from '../../api/types.ts'
import { useFieldShortcuts } from '../../components/shortcuts/use-shortcuts.ts'
import { shortcuts } from '../../strings/everywhere/shortcuts.ts'
import { agentStrings } from '../../strings/agent.ts'
import type { ModelChoice } from './model-choice.ts'
import classes from './agent.module.css'

const strings = agentStrings.composer

interface ComposerProps {
  readonly draft: string
  readonly onDraft: (draft: string) => void
  readonly choice: ModelChoice
  readonly isRunning: boolean
  readonly onSend: (prompt: string) => void
  readonly onStop: () => void
}

/** The input for questions, with provider and model. */
export function Composer({ draft, onDraft, choice, isRunning, onSend, onStop }: ComposerProps) {
  const isBlank = draft.trim() === ''
  const submit = (): void => {
    if (!isBlank && !isRunning) onSend(draft.trim())
  }
  const { place, send, stop } = shortcuts.agent
  const onKeyDown = useFieldShortcuts(place, [
    { keys: ['Enter'], label: send, run: submit },
    ...(isRunning ? [{ keys: ['Escape'], label: stop, run: onStop }] : []),
  ])
  return (
    <form
      className={classes.composer}
      onSubmit={(event) => {
        event.preventDefault()
        submit()
      }}
    >
      <Textarea
        aria-label={strings.label}
        placeholder={strings.placeholder}
        size="sm"
        autosize
        minRows={2}
        maxRows={8}
        maxLength={20_000}
        data-autofocus
        value={draft}
        onChange={({ currentTarget }) => onDraft(currentTarget.value)}
        onKeyDown={onKeyDown}
      />
      <div className={classes.composerRow}>
        <ModelFields choice={choice} />
        <VisuallyHidden>{strings.hint}</VisuallyHidden>
        {isRunning ? (
          // It replaces the Send button, so the second click of a double click must not trigger it.
          <Button variant="default" onClick={({ detail }) => detail < 2 && onStop()}>
            {strings.stop}
          </Button>
        ) : (
          <Button type="submit" disabled={isBlank}>
            {strings.send}
          </Button>
        )}
      </div>
    </form>
  )
}

function ModelFields({ choice }: { readonly choice: ModelChoice }) {
  const { known, provider, model, setProvider, setModel } = choice
  const current = provider ?? known?.default_provider ?? ''
  const entry = known?.providers.find(({ name }) => name === current)
  const data = (known?.providers ?? []).map(({ name, configured }) => {
    const label = strings.providers[name] ?? name
    return { value: name, label: configured ? label : strings.noKey(label), disabled: !configured }
  })
  return (
    <div className={classes.models}>
      <NativeSelect
        aria-label={strings.provider}
        data={data}
        value={current}
        disabled={known === undefined}
        onChange={({ currentTarget }) => setProvider(currentTarget.value as NonNullable<ChatRequest['provider']>)}
      />
      {current === 'builtin' ? undefined : (
        <TextInput
          aria-label={strings.model}
          placeholder={entry?.default_model ?? strings.modelDefault}
          value={model}
          maxLength={200}
          onChange={({ currentTarget }) => setModel(currentTarget.value.replaceAll(/\s/g, ''))}
        />
      )}
    </div>
  )
}
