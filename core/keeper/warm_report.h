/* How kernels start here, told to the app (control_report.h). */
#ifndef CELLPOST_KEEPER_WARM_REPORT_H
#define CELLPOST_KEEPER_WARM_REPORT_H

#include "core/keeper/kernels/keeper.h"

/* Writes it anew when something has changed. */
void warm_report_turn(struct keeper *keeper);

#endif
