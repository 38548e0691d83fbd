import { Button, TextInput } from '@mantine/core'
import { type FormEvent, useState } from 'react'
import { ranges as words } from '../../../strings/everywhere/ranges.ts'
import { useZone } from '../../../time/time-settings.ts'
import { boundsOf, type ChartRange, type Ends, isOpenEnded, type RangeSpec } from './chart-range.ts'
import classes from './range-bar.module.css'
import { endInput, parseEnd } from './range-times.ts'

interface RangeFieldsProps {
  readonly spec: RangeSpec
  readonly range: ChartRange
  readonly ends: Ends
  readonly onChoose: (range: ChartRange) => void
}

type Draft = { readonly [End in 'from' | 'to']?: string }

/** The ends of a range as fields. A range is chosen with Enter or the button, when both ends are as they should be. */
export function RangeFields({ spec, range, ends, onChoose }: RangeFieldsProps) {
  const zone = useZone()
  const [draft, setDraft] = useState<Draft>({})
  const [error, setError] = useState<string>()
  const { fromMs, toMs } = boundsOf(range, ends)
  const shown = {
    from: draft.from ?? endInput(fromMs, spec, zone),
    to: draft.to ?? (isOpenEnded(range) ? '' : endInput(toMs, spec, zone)),
  }
  const submit = (event: FormEvent): void => {
    event.preventDefault()
    const [from, to] = [parseEnd(shown.from, spec, zone), parseEnd(shown.to, spec, zone)]
    const isWrong = (shown.from !== '' && from === undefined) || (shown.to !== '' && to === undefined)
    const isEmpty = from === undefined && to === undefined
    const end = to ?? ends.nowMs
    const isBackwards = from !== undefined && (spec.unit === 'day' ? from > end : from >= end)
    setError(isWrong || isEmpty ? words.wrongTime : isBackwards ? words.wrongOrder : undefined)
    if (isWrong || isEmpty || isBackwards) return
    setDraft({})
    onChoose({ kind: 'part', fromMs: from, toMs: to })
  }
  const field = (end: 'from' | 'to') => (
    <TextInput
      type={spec.unit === 'day' ? 'date' : 'datetime-local'}
      {...(spec.unit === 'day' ? {} : { step: 1 })}
      aria-label={spec.unit === 'day' ? words[end] : words.inZone(words[end], zone)}
      leftSection={<span aria-hidden="true">{words[end]}</span>}
      leftSectionWidth="3.25rem"
      value={shown[end]}
      error={end === 'from' ? error : undefined}
      onChange={({ currentTarget: { value } }) => setDraft({ ...draft, [end]: value })}
    />
  )
  return (
    <form className={classes.fields} onSubmit={submit} noValidate>
      {field('from')}
      {field('to')}
      <Button type="submit" variant="default">
        {words.show}
      </Button>
    </form>
  )
}
