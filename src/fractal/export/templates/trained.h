/* The trained weights. */
static const NAME_weights NAME_trained = {
//% for member in weights.first
    .@{member.name}@ = {@{numbers(member.array)}@},
//% endfor
    .blocks = {
//% for block in weights.blocks
        {
//% for member in block
            .@{member.name}@ = {@{numbers(member.array, 12)}@},
//% endfor
        },
//% endfor
    },
//% for member in weights.last
    .@{member.name}@ = {@{numbers(member.array)}@},
//% endfor
};
