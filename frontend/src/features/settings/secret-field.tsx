import { TextInput } from '@mantine/core'
import type { ReactNode } from 'react'
import { Notice } from '../../components/status/notice.tsx'
import { CopyIconButton } from '../../components/text/copyable.tsx'
import classes from './settings.module.css'

interface SecretFieldProps {
  readonly label: string
  readonly value: string
  readonly description?: string
}

/** A secret that is shown once, whole, to be copied. */
export function SecretField({ label, value, description }: SecretFieldProps) {
  return (
    <TextInput
      label={label}
      {...(description === undefined ? {} : { description })}
      value={value}
      readOnly
      classNames={{ input: classes.secret ?? '' }}
      rightSection={<CopyIconButton text={value} what={label.toLowerCase()} />}
      onFocus={({ currentTarget }) => currentTarget.select()}
    />
  )
}

/** A warning about a secret that is shown only once. */
export function SecretText({ children }: { readonly children: ReactNode }) {
  return (
    <Notice tone="warn" role="status">
      {children}
    </Notice>
  )
}
