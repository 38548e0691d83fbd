import { Menu, Modal, Select } from '@mantine/core'
import { useMemo } from 'react'
import { CheckIcon } from '../components/icons.tsx'
import { shell } from '../strings/everywhere/shell.ts'
import { changeTimeSettings, useTimeSettings, useZone } from '../time/time-settings.ts'
import { localZone } from '../time/zone.ts'

/** The part of the user menu that selects the time zone and format of times. */
export function TimeMenuItems({ onOtherZone }: { readonly onOtherZone: () => void }) {
  const { zone, style } = useTimeSettings()
  const zones = [...new Set(['local', 'UTC', zone])]
  return (
    <>
      <Menu.Label>{shell.timeZone}</Menu.Label>
      {zones.map((one) => (
        <Choice key={one} isChosen={one === zone} onChoose={() => changeTimeSettings({ zone: one })}>
          {one === 'local' ? shell.localZone(localZone()) : one}
        </Choice>
      ))}
      <Menu.Item onClick={onOtherZone}>{shell.otherZone} …</Menu.Item>
      <Menu.Label>{shell.times}</Menu.Label>
      {(['relative', 'absolute'] as const).map((one) => (
        <Choice key={one} isChosen={one === style} onChoose={() => changeTimeSettings({ style: one })}>
          {shell.timeStyles[one]}
        </Choice>
      ))}
    </>
  )
}

interface ChoiceProps {
  readonly isChosen: boolean
  readonly onChoose: () => void
  readonly children: string
}

function Choice({ isChosen, onChoose, children }: ChoiceProps) {
  return (
    <Menu.Item rightSection={isChosen ? <CheckIcon /> : null} aria-current={isChosen} onClick={onChoose}>
      {children}
    </Menu.Item>
  )
}

interface ZoneDialogProps {
  readonly opened: boolean
  readonly onClose: () => void
}

/** Any time zone of the browser, by its name. */
export function ZoneDialog({ opened, onClose }: ZoneDialogProps) {
  const zone = useZone()
  const zones = useMemo(() => [...new Set(['UTC', ...Intl.supportedValuesOf('timeZone'), zone])], [zone])
  return (
    <Modal opened={opened} onClose={onClose} title={shell.timeZone}>
      <Select
        label={shell.timeZone}
        data={zones}
        value={zone}
        searchable
        limit={50}
        allowDeselect={false}
        data-autofocus
        onChange={(next) => {
          if (next === null) return
          changeTimeSettings({ zone: next })
          onClose()
        }}
      />
    </Modal>
  )
}
