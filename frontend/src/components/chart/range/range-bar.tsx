import { Button, SegmentedControl } from '@mantine/core'
import { ranges as words } from '../../../strings/everywhere/ranges.ts'
import { useNow } from '../../../time/relative-time.tsx'
import { useZone } from '../../../time/time-settings.ts'
import { type ChartRange, isOpenEnded, type RangeSpec } from './chart-range.ts'
import classes from './range-bar.module.css'
import { RangeFields } from './range-fields.tsx'
import { formatEnd } from './range-times.ts'
import type { ChosenRange } from './use-chart-range.ts'

interface RangeBarProps extends ChosenRange {
  readonly spec: RangeSpec
  /** The oldest stored value, ms since 1970; undefined: none, or not known. */
  readonly oldestMs?: number | undefined
  /** Whether new values appear while the page is open, as long as the range ends now. */
  readonly isLive?: boolean
  /** The charts leave out values. */
  readonly isThinned?: boolean
}

/** Chooses the range of the charts of a page: one that ends now, or any part by its ends. */
export function RangeBar({ spec, range, choose, oldestMs, isLive = false, isThinned = false }: RangeBarProps) {
  const zone = useZone()
  const now = useNow()
  const notes = [noteOf({ range, spec, isLive, zone }), isThinned ? words.thinned : '', words.hint]
  return (
    <div className={classes.bar} role="group" aria-label={words.label}>
      <div className={classes.fields}>
        <SegmentedControl
          aria-label={words.label}
          value={range.kind === 'preset' ? range.preset : ''}
          onChange={(value) => {
            const preset = spec.presets.find((one) => one === value)
            if (preset !== undefined) choose({ kind: 'preset', preset })
          }}
          data={spec.presets.map((value) => ({ value, label: words.presets[value] }))}
        />
        <RangeFields
          key={JSON.stringify(range)}
          spec={spec}
          range={range}
          ends={{ nowMs: now.getTime(), oldestMs, unit: spec.unit }}
          onChoose={choose}
        />
        {range.kind === 'part' && (
          <Button variant="default" onClick={() => choose({ kind: 'preset', preset: spec.fallback })}>
            {words.back(words.presets[spec.fallback])}
          </Button>
        )}
      </div>
      <p className={classes.note} role="status">
        {notes.filter(Boolean).join(' ')}
      </p>
    </div>
  )
}

interface NoteOptions {
  readonly range: ChartRange
  readonly spec: RangeSpec
  readonly isLive: boolean
  readonly zone: string
}

function noteOf({ range, spec, isLive, zone }: NoteOptions): string {
  if (range.kind === 'part' && range.toMs !== undefined) return words.fixed(formatEnd(range.toMs, spec, zone))
  return isLive && isOpenEnded(range) ? words.live : ''
}
