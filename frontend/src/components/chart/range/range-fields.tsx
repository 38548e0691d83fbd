import { Button, TextInput } from '@mantine/core'
import { type FormEvent, useState } from 'react'
import { ranges as words } from '../../../strings/everywhere/ranges.ts'
import { useZone } from '../../../time/time-settings.ts'
import type { Zone } from '../../../time/zone.ts'
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
    const read = readDraft(shown, { spec, zone, nowMs: ends.nowMs })
    setError(typeof read === 'string' ? read : undefined)
    if (typeof read === 'string') return
    setDraft({})
    onChoose(read)
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

interface DraftContext {
  readonly spec: RangeSpec
  readonly zone: Zone
  readonly nowMs: number
}

/** The range that the fields describe, or what is wrong with them. */
function readDraft({ from, to }: Required<Draft>, { spec, zone, nowMs }: DraftContext): ChartRange | string {
  const [fromMs, toMs] = [parseEnd(from, spec, zone), parseEnd(to, spec, zone)]
  const isRead = (text: string, ms: number | undefined): boolean => text === '' || ms !== undefined
  if (!isRead(from, fromMs) || !isRead(to, toMs)) return words.wrongTime
  if (fromMs === undefined && toMs === undefined) return words.wrongTime
  const shortest = spec.unit === 'day' ? 0 : 1
  if (fromMs !== undefined && (toMs ?? nowMs) - fromMs < shortest) return words.wrongOrder
  return { kind: 'part', fromMs, toMs }
}
