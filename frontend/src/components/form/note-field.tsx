import { Textarea } from '@mantine/core'

interface NoteFieldProps {
  readonly label: string
  readonly help: string
  readonly value: string
  readonly onChange: (value: string) => void
  readonly isRequired?: boolean
}

/** The text that a person gives with a decision: the first thing to type into in its dialog. */
export function NoteField({ label, help, value, onChange, isRequired = false }: NoteFieldProps) {
  return (
    <Textarea
      label={label}
      description={help}
      required={isRequired}
      autosize
      minRows={2}
      maxRows={8}
      data-autofocus
      value={value}
      onChange={({ currentTarget }) => onChange(currentTarget.value)}
    />
  )
}
